/** What the options of topologies may be. Their numbers and the names in them are judged with the agent that has them. */
import {
  FUNCTION,
  type OptionForm,
  type Forms,
  RECORD,
  TEXT,
  anyForm,
  listOf,
  oneOf,
  checkDefined,
  type DefinitionForms,
  ZOD_SCHEMA,
  NUMBER,
} from "./option-forms.ts";

const SPAN: OptionForm = anyForm(
  { says: "milliseconds", holds: NUMBER.holds },
  { says: 'a text such as "90s" or "2h"', holds: TEXT.holds },
);
const NAMES = listOf(TEXT, "a list of names");
const TOPOLOGY: OptionForm = { ...RECORD, says: "a topology, such as react({ maxBeats: 20 })" };

const ROLE: Forms = { instructions: TEXT, model: TEXT };
const WORKING: Forms = { ...ROLE, tools: NAMES, maxBeats: NUMBER, topology: TOPOLOGY };

const BOSS: Forms = {
  workers: NAMES,
  boss: RECORD,
  merger: RECORD,
  rounds: NUMBER,
  handOffs: NUMBER,
  batch: NUMBER,
  maxBeats: NUMBER,
};
const BOSS_NEEDS = ["workers", "boss", "merger"];

/** By the name of the function that takes them. */
const DEFINITIONS = {
  react: {
    forms: {
      maxBeats: NUMBER,
      onContradiction: anyForm(oneOf("stop", "ask"), { ...RECORD, says: '{ model: "NAME" }' }),
    },
    needed: ["maxBeats"],
  },
  pipeline: {
    forms: {
      stages: listOf(RECORD, "a list of stages"),
      endToEnd: FUNCTION,
      retriesPerStage: NUMBER,
      maxBeats: NUMBER,
      onRollBack: oneOf("undo", "keep"),
    },
    needed: ["stages"],
  },
  planExecute: {
    forms: {
      planner: RECORD,
      step: RECORD,
      planTtl: SPAN,
      precondition: FUNCTION,
      onFailedStep: oneOf("stop", "skip", "replan"),
      replans: NUMBER,
      stepsMax: NUMBER,
      effectsLast: NAMES,
      goneWords: NAMES,
      maxBeats: NUMBER,
    },
    needed: ["planner"],
  },
  debate: {
    forms: { drafter: RECORD, critic: RECORD, judge: RECORD, rounds: NUMBER, epsilon: NUMBER, maxBeats: NUMBER },
    needed: ["drafter", "critic", "judge"],
  },
  orchestrator: { forms: { ...BOSS, atOnce: NUMBER }, needed: BOSS_NEEDS },
  hierarchical: {
    forms: { ...BOSS, fanOut: NUMBER, levels: NUMBER, shards: NAMES, partsIn: TEXT, unread: NUMBER },
    needed: BOSS_NEEDS,
  },
} as const satisfies Readonly<Record<string, DefinitionForms>>;

/** Checks the options of a topology. Throws `AgentInvalid`. */
export const checkTopologyOptions = (name: keyof typeof DEFINITIONS, options: object): void =>
  checkDefined(name, options, DEFINITIONS[name]);

/** Checks a role of a topology, such as the critic of a debate. */
export const checkRole = (whose: string, role: object): void =>
  checkDefined(whose, role, { forms: ROLE, needed: ["instructions"] });

/** Checks a role that works with tools. A step of a plan may leave out all of it. */
export const checkWorkingRole = (whose: string, role: object, needed: readonly string[] = ["instructions"]): void =>
  checkDefined(whose, role, { forms: WORKING, needed });

const GATE = anyForm(FUNCTION, { ...RECORD, says: "judge({ ... })" });

/** Checks a stage of a pipeline. */
export const checkStage = (whose: string, stage: object): void =>
  checkDefined(whose, stage, {
    forms: { name: TEXT, ...WORKING, output: ZOD_SCHEMA, gate: GATE },
    needed: ["name", "instructions"],
  });
