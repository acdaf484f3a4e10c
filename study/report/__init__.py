"""Tables and sentences of the results page, computed from the stored records."""
