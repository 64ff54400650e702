/** The options of `createServer` and `driveStore`, which may be called from JavaScript: a wrong one is refused by name. */
import { nearest } from "../compose/catalogue.ts";
import { CairnError } from "../client/errors.ts";
import {
  FLAG,
  FUNCTION,
  type OptionForm,
  type Forms,
  NUMBER,
  RECORD,
  TEXT,
  anyForm,
  checkForms,
  oneOf,
} from "../sdk/option-forms.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import type { DriveOptions } from "./worker.ts";
import type { ServerOptions } from "./server.ts";

type FormsOf<Options> = { readonly [Option in keyof Required<Options>]: OptionForm };

/** `checkGiven` looks at them, with words of its own. */
const AGENTS: OptionForm = { says: "a list of agents: agents: [myAgent]", holds: () => true };
const MODULE: OptionForm = {
  says: 'the module of a worker process: new URL("./cairn-worker.js", import.meta.url)',
  holds: (value) => typeof value === "string" || value instanceof URL,
};

const SERVER: FormsOf<ServerOptions> = {
  auth: anyForm(oneOf("tokens"), FUNCTION),
  ...{
    base: TEXT,
    console: FLAG,
    store: TEXT,
    world: TEXT,
    cwd: TEXT,
    agents: AGENTS,
    readers: RECORD,
    onUnread: FUNCTION,
  },
};
const DRIVING: FormsOf<DriveOptions> = {
  ...{ store: TEXT, cwd: TEXT, agents: AGENTS, entry: MODULE, onEvent: FUNCTION },
  ...{ workers: NUMBER, beatsPerWorker: NUMBER, beatSeconds: NUMBER },
};

/** @throws CairnError `OptionInvalid` for an option that there is not, or that is of another type */
export const checkServerOptions = (options: object): void => check("createServer", options, SERVER);
/** @throws CairnError `OptionInvalid` */
export const checkDriveOptions = (options: object): void => check("driveStore", options, DRIVING);

function check(whose: string, options: object, forms: Forms): void {
  const known = Object.keys(forms).toSorted();
  const unknown = Object.keys(options).find((option) => !Object.hasOwn(forms, option));
  if (unknown !== undefined) {
    const meant = nearest(unknown, known);
    const next = meant === null ? `take it out, or write one of ${known.join(", ")}` : `did you mean ${meant}?`;
    throw invalid(`${whose} has no option ${JSON.stringify(unknown)}: ${next}`);
  }
  try {
    checkForms(whose, options, forms);
  } catch (error) {
    throw error instanceof AgentInvalid ? invalid(error.message) : error;
  }
}

const invalid = (message: string): CairnError => new CairnError(message, { code: "OptionInvalid", status: null });
