"""An app taken out as one document, and put back."""
