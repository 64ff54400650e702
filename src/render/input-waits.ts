/** Renders calls that wait for an answer, an event or a time: as lines of a timeline, and with what to type. */
import type { EventOf } from "../core/event.ts";
import type { WaitEvents } from "../core/wait.ts";
import type { OpenWait } from "../operations/wait-views.ts";
import { type Paint, type Style, pairs } from "./paint.ts";
import { type CommandBuilder, relative, short, shortJson, timeOfDay } from "./words.ts";

const WORDS_MAX = 300;

/** The line of an event about a wait. */
export function waitLine(
  entry: { readonly [K in keyof WaitEvents]: EventOf<K> }[keyof WaitEvents],
  { paint, name }: { readonly paint: Paint; readonly name: (call: string) => string },
): { readonly says: string } {
  switch (entry.kind) {
    case "WaitBegun": {
      const { until } = entry.wait;
      const limit = until === null ? "" : `, until ${new Date(until).toISOString()}`;
      return {
        says: `${paint("yellow", "?")} ${name(entry.call)} ${WAITS_FOR[entry.wait.for](entry.wait.event)}${limit}`,
      };
    }
    case "InputRefused": {
      const why = short(entry.why, WORDS_MAX);
      return { says: `${paint("red", "✖")} what ${entry.by} gave ${name(entry.call)} does not fit: ${why}` };
    }
    case "InputIgnored": {
      const what = entry.for === "answer" ? `the answer to ${name(entry.name)}` : `event ${entry.name}`;
      return { says: paint("yellow", `✖ ${what} by ${entry.by} had no effect: ${short(entry.why, WORDS_MAX)}`) };
    }
  }
}

const WAITS_FOR = {
  answer: () => "waits for a human's answer",
  event: (event = "") => `waits for event ${event}`,
  time: () => "sleeps",
} as const;

const AT_LIMIT = {
  tell: "then the model is told that nothing came",
  fail: "then the run fails",
  take: "then its default counts",
} as const;

/** Shows a call that waits, and the command that ends its wait. */
export function renderWait(run: string, wait: OpenWait, style: Style & { readonly command: CommandBuilder }): string {
  const { now, paint, command } = style;
  const { call, tool, until } = wait;
  const does = WAITS_FOR[wait.for](wait.event ?? undefined);
  const facts: (readonly [string, string])[] = [["arguments", shortJson(wait.args, WORDS_MAX)]];
  if (wait.schema !== null) facts.push(["fits", shortJson(wait.schema, WORDS_MAX)]);
  if (wait.refused !== null) facts.push(["refused", short(wait.refused, WORDS_MAX)]);
  if (until !== null) {
    const then = wait.for === "time" ? "then it goes on" : AT_LIMIT[wait.atLimit];
    facts.push(["until", `${timeOfDay(until, now)} (${relative(until, now)}), ${then}`]);
  } else {
    facts.push(["until", "it comes, for as long as its run may wait"]);
  }
  if (wait.answered) facts.push(["came", "recorded; the next beat applies it"]);
  const type = wait.answered ? null : commandFor(run, wait, command);
  return [
    "",
    `${paint("yellow", "?")} ${paint("bold", tool)} (${call}) ${does}`,
    ...pairs(facts, paint),
    ...(type === null ? [] : [`  ${paint("bold", type)}`]),
  ].join("\n");
}

function commandFor(run: string, wait: OpenWait, command: CommandBuilder): string | null {
  if (wait.for === "time") return null;
  if (wait.for === "event") return command("signal", run, wait.event ?? "", "--detail", "JSON");
  return command("answer", run, wait.call, "--result", "JSON");
}
