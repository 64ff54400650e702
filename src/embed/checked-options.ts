/** The options of `createServer` and `driveStore`, which may be called from JavaScript: a wrong one is refused by name. */
import { CairnError } from "../client/errors.ts";
import { type OptionForm, type Forms, checkForms } from "../sdk/option-forms.ts";
import { insteadOf } from "../sdk/nearest.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";

export type FormsOf<Options> = { readonly [Option in keyof Required<Options>]: OptionForm };

/** `checkGiven` looks at them, with words of its own. */
export const AGENTS: OptionForm = { says: "a list of agents: agents: [myAgent]", holds: () => true };
export const MODULE: OptionForm = {
  says: 'the module of a worker process: new URL("./cairn-worker.js", import.meta.url)',
  holds: (value) => typeof value === "string" || value instanceof URL,
};

/** @throws CairnError `OptionInvalid` for an option that there is not, or that is of another type */
export function checkEmbeddingOptions(whose: string, options: object, forms: Forms): void {
  const known = Object.keys(forms);
  const unknown = Object.keys(options).find((option) => !Object.hasOwn(forms, option));
  if (unknown !== undefined) {
    throw invalid(`${whose} has no option ${JSON.stringify(unknown)}: ${insteadOf(unknown, known)}`);
  }
  try {
    checkForms(whose, options, forms);
  } catch (error) {
    throw error instanceof AgentInvalid ? invalid(error.message) : error;
  }
}

const invalid = (message: string): CairnError => new CairnError(message, { code: "OptionInvalid", status: null });
