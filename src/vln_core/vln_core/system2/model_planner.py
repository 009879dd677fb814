# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""System 2 with a model: modes ham, agentic, mcgpt and fused over one context and one record."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from vln_core.context import ClauseKind, PlanningContext, ProgressItem
from vln_core.errors import ConfigError, PlannerError, RecordError
from vln_core.system2 import tools as tl
from vln_core.system2.instructions import parse_instruction
from vln_core.system2.loose_json import find_objects
from vln_core.system2.messages import ChatModel, Message, Picture, Reply, ToolCall
from vln_core.system2.model_errors import BudgetSpent
from vln_core.system2.parsing import parse_record
from vln_core.system2.prompting import (
    PromptLibrary,
    bearing_words,
    check_size,
    fenced,
    values_of,
)
from vln_core.system2.record import DecisionRecord, Goto, ProgressUpdate, Stop, WorldNotes
from vln_core.system2.schema import mcgpt_schema, record_schema
from vln_core.system2.validation import validate

_logger = logging.getLogger(__name__)
MODES = ('ham', 'agentic', 'mcgpt', 'fused')
_MAX_REASON = 1000  # characters of a reason or a tool's answer


class Demonstrations(Protocol):
    """Source of reasoning examples."""

    def query(self, instruction: str) -> str:
        """Return the example for an instruction as text, or ''."""
        ...


@dataclass(frozen=True)
class ModelPlannerConfig:
    """Limits of the model modes.

    Attributes:
        mode: 'ham', 'agentic', 'mcgpt' or 'fused'.
        prompts: Folder of prompt files; None: the stack's own.
        max_calls: Requests that a step may take where tools are offered.
        max_repairs: Rounds in which an unusable answer is sent back with the reason.
        native_tools: Whether the endpoint calls tools itself; else they are JSON.
        has_vision: Whether pictures are shown.
        max_text: Characters of the analysis where the endpoint enforces the reply's form.
    """

    mode: str = 'fused'
    prompts: Path | None = None
    max_calls: int = 8
    max_repairs: int = 1
    native_tools: bool = True
    has_vision: bool = True
    max_text: int = 600

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ConfigError(f'planner mode "{self.mode}": choose one of {", ".join(MODES)}')
        if self.max_calls < 1 or self.max_repairs < 0 or self.max_text < 40:
            raise ConfigError(
                'planner: max_calls must be > 0, max_repairs >= 0 and max_text >= 40'
            )


class ModelPlanner:
    """Port Brain by a model."""

    def __init__(
        self,
        model: ChatModel,
        config: ModelPlannerConfig | None = None,
        demonstrations: Demonstrations | None = None,
    ) -> None:
        """Bind a mode to a model.

        Args:
            model: Who answers.
            config: Mode and limits.
            demonstrations: Examples for ``mcgpt`` and ``fused``.

        Raises:
            ConfigError: A prompt file is missing, or states no version.
        """
        self._model = model
        self._config = config or ModelPlannerConfig()
        self._demonstrations = demonstrations
        self._library = PromptLibrary(self._config.prompts)
        mode = self._config.mode
        for name in self._templates():
            self._library.version(name)
        if mode == 'mcgpt':
            # Loading K-means takes seconds, which must not fall into the first decision.
            import vln_core.memory.topological  # noqa: F401
        self._tools = {'agentic': tl.ALL, 'fused': tl.LOOKING}.get(mode, ())
        self._read: Callable[[str, PlanningContext], DecisionRecord] = (
            _read_mcgpt if mode == 'mcgpt' else lambda text, context: parse_record(text)
        )

    def parse(self, instruction: str) -> list[ProgressItem]:
        """Turn an instruction into progress items.

        Words that the parser does not understand become one item: the model may understand them.

        Raises:
            PlannerError: The text is empty.
        """
        self._model.begin_episode(instruction)
        try:
            return parse_instruction(instruction)
        except PlannerError:
            if not any(c.isalpha() for c in instruction):
                raise
            return [ProgressItem(0, instruction.strip()[:400], ClauseKind.STOP)]

    def decide(self, context: PlanningContext) -> DecisionRecord:
        """Ask the model for the next action.

        A spent budget ends the episode in order: the record is a stop that says so.

        Raises:
            PlannerError: No usable answer within the limits; the robot stands still.
        """
        try:
            return self._dialogue(context)
        except BudgetSpent as error:
            return DecisionRecord(
                analysis=str(error), action=Stop(), notes=WorldNotes(failure=str(error)),
                rationale=str(error),
            )  # fmt: skip

    # ------------------------------------------------------------------ prompt

    def prompt(self, context: PlanningContext) -> list[Message]:
        """Return the messages that open a step."""
        mode = self._config.mode
        example = ''
        if self._demonstrations is not None and mode in ('mcgpt', 'fused'):
            example = self._demonstrations.query(context.instruction)
        values = values_of(context, example, is_text_map=mode == 'mcgpt')
        if mode == 'agentic':
            # AgenticNav shows pictures, the map and the dialogue, no retrieved text.
            values.update(memory='', window='', viewpoints='')
        system = self._library.render(
            self._templates()[0], stop_radius=f'{context.stop_radius:g}',
            max_calls=self._config.max_calls, native_tools=self._config.native_tools,
        )  # fmt: skip
        user = self._library.render(self._templates()[1], **values)
        check_size((system, user))
        pictures = self._pictures(context) if mode != 'mcgpt' else ()
        return [Message('system', system), Message('user', user, pictures)]

    def _templates(self) -> tuple[str, str]:
        mode = self._config.mode
        return f'{mode}.system.j2', 'mcgpt.user.j2' if mode == 'mcgpt' else 'user.j2'

    def _pictures(self, context: PlanningContext) -> tuple[Picture, ...]:
        if not self._config.has_vision:
            return ()
        shown = [
            Picture(f'view {v.index} ({bearing_words(v.yaw)})', v.rgb)
            for v in context.panorama.views
        ]
        if self._config.mode != 'agentic':
            shown += [Picture('on the way here', f) for f in context.window_frames[-2:]]
        if context.map_image is not None:
            shown.append(Picture('map: north is up', context.map_image))
        return tuple(shown)

    # ---------------------------------------------------------------- dialogue

    def _dialogue(self, context: PlanningContext) -> DecisionRecord:
        messages = self.prompt(context)
        box = tl.ToolBox(context, self._tools)
        repairs = 0
        limit = self._config.max_calls if self._tools else 1
        schema = None if self._tools else self._schema(context)
        calls = 0
        while True:
            reply = self._model.chat(messages, tools=self._tools, schema=schema)
            calls += 1
            wanted = self._wanted_tools(reply)
            try:
                if wanted:
                    record = self._use_tools(messages, reply, wanted, box, calls >= limit)
                    if record is None:
                        continue
                else:
                    record = self._decision(reply, context)
                validate(record, context)
                return self._closed(record, context)
            except RecordError as error:
                if repairs >= self._config.max_repairs:
                    raise PlannerError(
                        f'the model gave no usable decision after {repairs} repair round(s): '
                        f'{error}'
                    ) from error
                repairs += 1
                _logger.info('decision sent back: %s', error)
                self._send_back(messages, reply, error)

    def _closed(self, record: DecisionRecord, context: PlanningContext) -> DecisionRecord:
        """Close the items at a stop of a mode that writes no progress, and say so (SPEC 4.2).

        Its stop then needs the geometric and the semantic proof only.
        """
        mode = self._config.mode
        if mode not in ('agentic', 'mcgpt') or not isinstance(record.action, Stop):
            return record
        updates = tuple(
            ProgressUpdate(
                index=item.index, status='skipped', reason=f'mode {mode} writes no progress'
            )
            for item in context.progress.items[:-1]
            if item.status.is_open
        )
        notes = record.notes.model_copy(update={'progress': updates})
        return record.model_copy(update={'notes': notes})

    def _schema(self, context: PlanningContext) -> dict[str, Any]:
        make = mcgpt_schema if self._config.mode == 'mcgpt' else record_schema
        return make(context, self._config.max_text)

    def _wanted_tools(self, reply: Reply) -> tuple[ToolCall, ...]:
        if reply.tool_calls and self._tools:
            return reply.tool_calls
        return tl.tool_calls_in(reply.text) if self._tools else ()

    def _use_tools(
        self,
        messages: list[Message],
        reply: Reply,
        wanted: tuple[ToolCall, ...],
        box: tl.ToolBox,
        is_last: bool,
    ) -> DecisionRecord | None:
        """Run the calls of a reply in order; the first that acts ends the step."""
        answers = []
        for call in wanted[: self._config.max_calls]:
            answer = box.run(call)
            if answer.action is not None:
                return DecisionRecord(
                    analysis='', action=answer.action, rationale=reply.text.strip()[:1900]
                )
            answers.append((call, answer))
        if is_last:
            raise RecordError(
                f'{self._config.max_calls} calls were made at this step; decide now without tools'
            )
        is_native = bool(reply.tool_calls)
        messages.append(Message('assistant', reply.text, tool_calls=wanted if is_native else ()))
        for call, answer in answers:
            text = f'<data>\n{fenced(answer.text, _MAX_REASON)}\n</data>'
            if is_native:
                messages.append(Message('tool', text, tool_call_id=call.id))
            else:
                messages.append(Message('user', f'{call.name}: {text}'))
        if is_native:
            for call in wanted[len(answers) :]:
                messages.append(Message('tool', 'not run: too many calls', tool_call_id=call.id))
        pictures = tuple(a.picture for _, a in answers if a.picture is not None)
        if pictures and self._config.has_vision:
            messages.append(Message('user', 'Pictures asked for:', pictures))
        return None

    def _decision(self, reply: Reply, context: PlanningContext) -> DecisionRecord:
        if self._config.mode == 'agentic':
            names = ', '.join(t.name for t in self._tools)
            raise RecordError(f'no tool was called; call one of {names}')
        if reply.finish == 'length' and not find_objects(reply.text):
            raise RecordError('the reply was cut off by its length; answer shorter')
        return self._read(reply.text, context)

    def _send_back(self, messages: list[Message], reply: Reply, error: Exception) -> None:
        messages.append(Message('assistant', reply.text[:2000] or '(empty)'))
        # The reason may name things of the scene.
        why = fenced(str(error), _MAX_REASON)
        messages.append(Message('user', self._library.render('repair.j2', error=why)))


def _read_mcgpt(text: str, context: PlanningContext) -> DecisionRecord:
    """Read the answer of the mcgpt prompt: a viewpoint or STOP, and the object."""
    objects = [f for f in find_objects(text) if not f.is_cut or 'viewpoint' in f.value]
    for found in reversed(objects):
        value = {str(k).lower(): v for k, v in found.value.items()}
        choice = value.get('viewpoint', value.get('action'))
        if not isinstance(choice, (str, int)):
            continue
        name = str(choice).strip().strip('<>')
        thought = str(value.get('thought', value.get('thoughts', '')))[:1900]
        if name.upper() == 'STOP':
            number = value.get('object_id', value.get('object'))
            known = isinstance(number, int) and context.graph.object(number) is not None
            action: Goto | Stop = Stop(object_id=number if known else None)
        else:
            action = Goto(viewpoint=name[:32])
        return DecisionRecord(analysis=thought, action=action, rationale=thought)
    raise RecordError('there is no "viewpoint" in the answer; give the ID of one, or "STOP"')
