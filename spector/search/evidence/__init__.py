"""The evidence that ranks memories."""
