"""Running notebooks headlessly, and recording what they make."""
