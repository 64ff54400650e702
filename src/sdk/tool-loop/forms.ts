/** What the settings of a `ToolLoopAgent` and the properties of its tools may be, as far as nothing else says it. */
import { MODEL, TOOL_CHOICE } from "../definition-forms.ts";
import { FLAG, FUNCTION, type OptionForm, type Forms, RECORD, TEXT, anyForm, listOf, orNull } from "../option-forms.ts";
import { ON_END, ON_START, ON_STEP_END, ON_STEP_START } from "./callbacks.ts";

const NAMES: OptionForm = listOf(TEXT, "a list of the names of tools");

const CALLBACKS = [
  ...ON_START,
  ...ON_STEP_START,
  ...ON_STEP_END,
  ...ON_END,
  "onToolExecutionStart",
  "onToolExecutionEnd",
];

export const SETTING_FORMS: Forms = {
  model: MODEL,
  tools: orNull({ ...RECORD, says: "an object of tools by their names: tools: { NAME: tool({ ... }) }" }),
  activeTools: orNull(NAMES),
  toolOrder: orNull(NAMES),
  toolChoice: orNull(TOOL_CHOICE),
  toolsContext: orNull(RECORD),
  timeout: orNull(
    anyForm(
      { says: "a number of milliseconds", holds: (value) => typeof value === "number" },
      {
        ...RECORD,
        says: "{ totalMs, stepMs, toolMs }",
      },
    ),
  ),
  ...Object.fromEntries(CALLBACKS.map((each) => [each, orNull(FUNCTION)])),
};

export const TOOL_PROPERTY_FORMS: Forms = {
  description: orNull(anyForm(TEXT, FUNCTION)),
  needsApproval: orNull(anyForm(FLAG, FUNCTION)),
  execute: orNull(FUNCTION),
  toModelOutput: orNull(FUNCTION),
};
