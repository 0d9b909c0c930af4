"""What words say by their form, in English and Turkish: no store, no model."""
