/**
 * What a list shows of a run in place of its ID alone: a title, the beginning of the key of its start, and its labels. All
 * are made once, when the run is created, and stand in its row (`protocol/row-brief.ts`).
 */
import type { Agent } from "../../ports/agent.ts";
import { SIZES } from "../../codec/limits.ts";
import type { RunLabels } from "../../core/ids.ts";
import { BOUNDS } from "../../core/limits.ts";
import type { Json } from "../../core/json.ts";
import type { RowBrief } from "../../protocol/row-brief.ts";
import type { World } from "../../ports/world.ts";
import { alarm } from "../../history/alarm.ts";
import { redactionIn } from "../../history/secrets.ts";

export type RunNames = Pick<RowBrief, "title" | "startKey" | "labels">;

/**
 * The title by the agent's function, else an excerpt of the input. A function that throws or returns no text raises an alarm
 * and refuses nothing: a run must not fail for how a list shows it. `key`: as the caller gave it; null without one.
 */
export function runNames(
  world: Pick<World, "clock" | "telemetry" | "secrets">,
  start: {
    readonly agent: Agent;
    readonly run: string;
    readonly task: Json;
    readonly key: string | null;
    readonly labels?: RunLabels | undefined;
  },
): RunNames {
  const shown = (text: string, bytesMax: number): string => cut(oneLine(redactionIn(world).text(text)), bytesMax);
  // In a text nothing tells that a value had the name of a credential.
  const task = redactionIn(world).json(start.task);
  const key = start.key === null || DRAWN.test(start.key) ? "" : start.key;
  const title = titleBy(world, { ...start, task }) ?? excerpt(task);
  // Both share their bytes, so that the row of an ordinary beat stays within one write unit. A key has what a short title
  // leaves, because runs are found by the beginning of it.
  const left = SIZES.titleBytesMax - Buffer.byteLength(shown(title, SIZES.titleBytesMax));
  const startKey = shown(key, Math.max(SIZES.keyShownBytesMax, left));
  const cutTitle = shown(title, SIZES.titleBytesMax - Buffer.byteLength(startKey));
  const labels = Object.entries(redactionIn(world).json(start.labels ?? {}) as RunLabels).map(
    ([name, value]) => [name, cut(value, BOUNDS.labelBytesMax)] as const,
  );
  return {
    ...(cutTitle !== "" && { title: cutTitle }),
    ...(startKey !== "" && { startKey }),
    ...(labels.length > 0 && { labels: Object.fromEntries(labels) }),
  };
}

/** A key that cairn drew for a start without one. It names nothing that a reader knows. */
const DRAWN = /^[0-9a-f]{64}$/;

/** Null: the agent has no title function, or what it returned is none. */
function titleBy(
  world: Pick<World, "clock" | "telemetry" | "secrets">,
  { agent, run, task }: { readonly agent: Agent; readonly run: string; readonly task: Json },
): string | null {
  if (agent.title === undefined) return null;
  const instead = "the run shows an excerpt of its input instead";
  const refused = (why: string): null => {
    alarm(world, run, { what: "TitleInvalid", why: `the title of agent ${agent.name} ${why}; ${instead}` });
    return null;
  };
  try {
    const title: unknown = agent.title({ task });
    // A promise is not awaited. Its rejection must not end the process.
    if (title instanceof Promise) title.catch(() => undefined);
    if (typeof title !== "string") return refused(`is ${title === null ? "null" : typeof title} and not a text`);
    return oneLine(title) === "" ? refused("is empty") : title;
  } catch (error) {
    return refused(`threw: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A text as it is; of an object its plain members, without their names if there is one. */
function excerpt(task: Json): string {
  if (task === null || typeof task !== "object" || Array.isArray(task)) return words(task);
  const plain = Object.entries(task).filter(([, value]) => value !== null && typeof value !== "object");
  const [only] = plain;
  if (only !== undefined && plain.length === 1) return words(only[1]);
  return plain.map(([name, value]) => `${name}: ${words(value)}`).join(", ");
}

const words = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

/** Without control characters, and without those that reverse the direction of writing. */
const oneLine = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069\s]+/gu, " ")
    .trim();

/** At most so many bytes of UTF-8, in whole characters. */
function cut(text: string, bytesMax: number): string {
  if (Buffer.byteLength(text) <= bytesMax) return text;
  let [kept, bytes] = ["", Buffer.byteLength("…")];
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > bytesMax) break;
    kept += character;
  }
  return `${kept.trimEnd()}…`;
}
