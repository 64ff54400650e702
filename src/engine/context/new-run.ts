/** The initial state of a run. */
import { type Grant, NOTHING_SPENT } from "../../core/policy/budget.ts";
import type { Agent } from "../../ports/agent.ts";
import type { FileRef } from "../../core/file.ts";
import { type Message, type Value, text } from "../../core/message.ts";
import type { RunFiring } from "../../core/run-firing.ts";
import type { Price } from "../../core/policy/price.ts";
import type { RunRetention } from "../../core/policy/retention.ts";
import { FOLLOWS, type State, type UpgradePolicy } from "../../core/state.ts";

/** What a run takes over from its agent when it begins. */
export const partOfAgent = ({ name, version, budget, price, retention, tools, upgrade, onIdle }: Agent) => ({
  agent: name,
  agentVersion: version,
  takeoversMax: budget.takeovers,
  price,
  retention,
  upgrade,
  ...(onIdle === "wait" && { onIdle }),
  takesEvents: Object.values(tools).some(({ wait }) => wait?.for === "event"),
});

/** What the first message says before its files: the task, and the firing that started the run. */
export const openingParts = (taskText: string, firing?: RunFiring) =>
  [taskText, ...(firing === undefined ? [] : [firingText(firing)])].map(text);

/** What the model reads of it, below its task. */
function firingText({ schedule, dueAt, previousDueAt, makesUp }: RunFiring): string {
  const before =
    previousDueAt === null ? "No run before it is known" : `The run before it was due ${iso(previousDueAt)}`;
  const late = makesUp ? " The time was missed, and this run makes up for it." : "";
  return `The schedule ${schedule} started this run, due ${iso(dueAt)}. ${before}.${late}`;
}

const iso = (at: number): string => new Date(at).toISOString();

/** The state in snapshot 0: the task, which is also the first user message. `at`: epoch milliseconds. */
export function initialState({
  taskText,
  files = [],
  retention,
  upgrade,
  takesEvents = false,
  at,
  firing,
  ...given
}: {
  run: string;
  born: string;
  agent: string;
  agentVersion: string;
  task: Value;
  taskText: string;
  files?: readonly FileRef[];
  takeoversMax: number;
  price?: Price;
  retention?: RunRetention | null;
  upgrade: UpgradePolicy;
  onIdle?: "wait";
  startedBy?: string;
  firing?: RunFiring | undefined;
  grant?: Grant;
  depth?: number;
  /** Its agent can wait for events, so the run keeps those that come early. */
  takesEvents?: boolean;
  at: number;
}): State {
  const opening = openingParts(taskText, firing);
  const message: Message = { id: "m1", at, source: "task", role: "user", parts: [...opening, ...files], tokens: 0 };
  const begun: State = {
    ...given,
    phase: "Preparing",
    ...(retention ? { retention } : {}),
    restart: 1,
    calls: 0,
    open: [],
    children: [],
    spent: NOTHING_SPENT,
    modelRetries: 0,
    nudges: 0,
    retryAt: null,
    ending: null,
    pausedFrom: null,
    result: null,
    failure: null,
    absorbed: [],
    startedAt: null,
    ...(upgrade === "pin" ? { upgrades: { ...FOLLOWS, policy: upgrade } } : {}),
    ...(takesEvents ? { signals: [] } : {}),
    messages: [message],
  };
  return firing === undefined ? begun : { ...begun, firing };
}
