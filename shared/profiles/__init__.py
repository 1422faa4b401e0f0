"""Profiles: what a user has agreed to have kept about them, and the consent that guards it."""
