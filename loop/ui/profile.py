"""What a user has agreed to have kept about them: the consent, the profile, and what taking consent back erases."""

from __future__ import annotations

from typing import Any

from nicegui import ui
from nicegui.elements.mixins.value_element import ValueElement
from nicegui.events import ValueChangeEventArguments

from afterthought_client.models import Context, Preferences, ProfileAnswer, ProfileItem
from loop.ui.forms import Form, confirmed
from loop.ui.frame import PageView, in_turn
from loop.ui.tables import heading, note
from loop.ui.visitors import notify_success
from loop.ui.wording import counted


class ProfileSection:
    """The profile of one user, or of what names nobody."""

    def __init__(self, view: PageView, user_id: str | None) -> None:
        self._view, self._user_id = view, user_id
        self._found: ProfileAnswer | None = None
        self._is_being_written = False
        with ui.column().classes("w-full gap-3"):
            heading("Profile").classes("text-lg")
            self._shown = ui.column().classes("w-full gap-3 card")

    @in_turn
    async def refresh(self) -> None:
        """Show the profile as it is now."""
        if self._user_id is None:
            self._shown.clear()
            with self._shown:
                ui.label("A profile is one user's: choose whose memory to see it.").classes("muted")
            return
        self._show(await self._view.client.show_profile(user_id=self._user_id))

    async def refresh_unless_written(self) -> None:
        """Show what others changed, unless that would lose what is being written."""
        if self._user_id is None:
            return
        found = await self._view.client.show_profile(user_id=self._user_id)
        if found == self._found:
            return
        if not self._is_being_written:
            self._show(found)
            return
        self._found = found
        with self._shown:
            ui.notify("Somebody else changed this profile; what you write here is not saved yet.", type="warning")

    def _show(self, found: ProfileAnswer) -> None:
        self._found, self._is_being_written = found, False
        self._shown.clear()
        with self._shown:
            consent = ui.switch("Agrees to having a profile", value=found.consent, on_change=self._change_consent)
            consent.set_enabled(self._view.may_write)
            if not found.consent:
                note("Without consent nothing is kept here.")
            else:
                self._build_fields(found.profile)

    async def _change_consent(self, event: ValueChangeEventArguments[bool | None]) -> None:
        # Of the section, as the switch goes when others change the profile.
        with self._shown:
            if not event.value and not await confirmed(
                "Take consent back?",
                described(self._found.profile if self._found else None),
                button="Take back and erase",
                cancel="Keep",
                more="This goes at once and for good. Drafts of answers that may quote it are withdrawn, and agreeing "
                "again begins with an empty profile.",
            ):
                # The switch shows the opposite by now.
                await self.refresh()
                return
            answer = await self._view.client.change_consent(bool(event.value), user_id=self._user_id or "")
            await self.refresh()
            if answer.receipt is not None:
                counts = [f"{count:,} {store}" for store, count in answer.receipt.erased.items() if count]
                erased = ", ".join(counts) or "nothing, as nothing was kept"
                left = sum(count or 0 for count in answer.receipt.left.values())
                with self._shown:
                    told = f"Erased: {erased}. {f'{left:,} left' if left else 'Nothing is left'}."
                    ui.label(told).props("role=status")

    def _build_fields(self, profile: ProfileItem | None) -> None:
        preferences = profile.preferences if profile else Preferences()
        context = (profile.context if profile else None) or Context()
        fields: dict[str, ValueElement[Any]] = {
            "coding_style": ui.input("Coding style", value=preferences.coding_style or ""),
            "preferred_languages": ui.input_chips("Languages", value=list(preferences.preferred_languages)),
            "framework_experience": ui.input_chips("Frameworks", value=list(preferences.framework_experience)),
            "project_goals": ui.input("Goals", value=context.project_goals or ""),
            "domain": ui.input("Domain", value=context.domain or ""),
            "constraints": ui.input("Constraints", value=context.constraints or ""),
            "freeform_notes": ui.textarea("Notes", value=profile.freeform_notes if profile else ""),
        }
        for field in fields.values():
            field.classes("w-full").on_value_change(self._note_writing)

        async def save(freeform_notes: str, **given: Any) -> None:
            # What is empty is not known.
            known = {name: value or None for name, value in given.items()}
            await self._view.client.write_profile(
                preferences=Preferences(
                    coding_style=known["coding_style"],
                    preferred_languages=given["preferred_languages"],
                    framework_experience=given["framework_experience"],
                ),
                context=Context(**{name: known[name] for name in ("project_goals", "domain", "constraints")}),
                freeform_notes=freeform_notes or "",
                user_id=self._user_id,
            )
            await self.refresh()
            with self._shown:
                notify_success("The profile is saved.")

        if self._view.may_write:
            Form(self._view, f"profile/{self._user_id}", fields, save, button="Save the profile")

    def _note_writing(self) -> None:
        self._is_being_written = True


def described(profile: ProfileItem | None) -> list[str]:
    """Return in words what a profile holds."""
    if profile is None:
        return ["nothing: the profile is empty"]
    context = profile.context or Context()
    texts = {
        "the coding style": profile.preferences.coding_style,
        "the goals": context.project_goals,
        "the domain": context.domain,
        "the constraints": context.constraints,
        f"notes of {len(profile.freeform_notes):,} characters": profile.freeform_notes,
        counted(len(profile.preferences.preferred_languages), "language"): profile.preferences.preferred_languages,
        counted(len(profile.preferences.framework_experience), "framework"): profile.preferences.framework_experience,
    }
    return [name for name, value in texts.items() if value] or ["nothing: the profile is empty"]
