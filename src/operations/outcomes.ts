/** Reports of outcomes that several operations share. */
import { LIMITED_OUTCOMES } from "./access/start-limits.ts";
import { FILE_INVALID } from "./files.ts";
import { RESPONSES, respond } from "./operation.ts";

export const VERSION_UNKNOWN = {
  exit: "notFound",
  status: 404,
  code: "VersionUnknown",
  says: "The run has no such version.",
} as const;

export const MEMORY_ENTRY_UNKNOWN = {
  exit: "notFound",
  status: 404,
  code: "MemoryEntryUnknown",
  says: "The memory has no such entry.",
} as const;

export const AGENT_UNKNOWN = {
  exit: "notFound",
  status: 404,
  code: "AgentUnknown",
  says: "There is no such agent.",
} as const;

/** The outcomes of a request that the next beat sees. */
export const STEERED = {
  requested: RESPONSES.accepted,
  late: RESPONSES.late,
  missing: RESPONSES.missing,
  unreadable: RESPONSES.unreadable,
} as const;

export const UNDONE = {
  accepted: RESPONSES.accepted,
  duplicate: RESPONSES.duplicate,
  notStarted: respond.refused("NotStarted", "The run has not started."),
  late: RESPONSES.late,
  missing: RESPONSES.missing,
  unreadable: RESPONSES.unreadable,
} as const;

/** The outcomes of a decision on a gate. */
export const DECIDED = {
  accepted: RESPONSES.accepted,
  duplicate: RESPONSES.duplicate,
  noEffect: respond.refused("NoEffect", "It was delivered, and the run ignores it."),
  stale: RESPONSES.stale,
  refused: respond.refused("Refused", "It does not fit what the gate asks, or grants too little."),
  argsInvalid: respond.invalid("ArgumentsInvalid", "The arguments do not fit the tool."),
  late: RESPONSES.late,
  missing: RESPONSES.missing,
} as const;

/** The outcomes of everything that starts a run. */
export const START_OUTCOMES = {
  started: respond.done("It is started.", 202),
  exists: respond.done("An earlier request of that key started it."),
  conflict: respond.refused("KeyConflict", "The key belongs to a run with another input or other files."),
  ended: respond.refused("Ended", "The key belongs to an ended run whose data is removed."),
  invalid: respond.invalid("InputInvalid", "The input does not match the agent's task schema."),
  fileInvalid: FILE_INVALID,
  agentUnknown: AGENT_UNKNOWN,
  ...LIMITED_OUTCOMES,
} as const;

export const UNSCHEDULED = {
  agentUnknown: AGENT_UNKNOWN,
  notScheduled: respond.refused("NotScheduled", "The agent has no schedule."),
} as const;

/** The outcomes of pausing a schedule, and of letting it go on. */
export const PAUSED = {
  paused: respond.done("It is paused: its firings start nothing."),
  resumed: respond.done("It goes on with its next firing."),
  same: respond.done("It is so already."),
  ...UNSCHEDULED,
} as const;
