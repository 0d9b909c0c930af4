"""What texts and cues show by their form, in English and Turkish, without a model."""
