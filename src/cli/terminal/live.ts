/** Shows a run on the screen while it happens: its timeline line by line, then its final state. */
import type { Shown, TimelineEntry } from "../../operations/views.ts";
import type { Live as LivePart, Reset } from "../../operations/live-page.ts";
import type { Delta } from "../../ports/delta-log.ts";
import { renderRun } from "../../render/run.ts";
import { type Story, UNTOLD } from "../../render/story.ts";
import { renderEvents } from "../../render/timeline.ts";
import type { Shell } from "../shell.ts";
import type { Transport } from "../transport.ts";

/** The callbacks with which `follow` draws a run. */
export interface LiveView {
  readonly onEntries: (entries: readonly TimelineEntry[]) => void;
  /** Called with the reason if older history of the run cannot be shown. */
  readonly onLost: (run: string, why: string) => void;
  /** Called at each poll, with what the run does. `isAttended`: whether a process drives it. */
  readonly onLook: (label: string, isAttended: boolean) => void;
  /** What the model is saying, and that what it said was lost. */
  readonly onLive: (live: Pick<LivePart, "reset" | "deltas">) => void;
  /** Prints the final state for humans, as `cairn show` does. */
  readonly end: (shown: Shown) => void;
}

/** Lines go to stdout, or to stderr if stdout is reserved for a JSON document. */
export function liveView(shell: Shell, { command, now }: Pick<Transport, "command" | "now">): LiveView {
  const { terminal, json } = shell;
  const [print, paint] = json ? [terminal.err, terminal.paintErr] : [terminal.out, terminal.paintOut];
  let story: Story = UNTOLD;
  return {
    onEntries: (entries) => {
      const told = renderEvents(story, entries, { paint, width: terminal.width });
      story = told.story;
      for (const line of told.lines) print(line);
    },
    onLive: ({ reset, deltas }) => {
      if (reset !== null) print(paint("yellow", LOST[reset.why]));
      for (const line of deltas.flatMap(linesOf)) print(paint("dim", line));
    },
    onLost: (run, why) => {
      const what = `the older history of ${run} is damaged, and only its readable part is shown: ${why}`;
      terminal.err(terminal.paintErr("yellow", `${what}; see \`${command("verify", run)}\``));
    },
    onLook: (label, isAttended) => {
      const hint = isAttended ? "" : `; no process works on it, type \`${command("work")}\``;
      terminal.waitFor(`${label}${hint}`);
    },
    end: (shown) => {
      terminal.waitFor(null);
      if (json) return;
      const style = { now: now(), paint, width: terminal.width };
      terminal.out(`\n${renderRun(shown, { ...style, command })}`);
    },
  };
}

const LOST: { readonly [W in Reset["why"]]: string } = {
  takeover: "  … lost: its process ended in the middle of the reply, and the next invocation goes on",
  noReply: "  … lost: the call ended without a reply",
};

/** A step as it is said. Reasoning and arguments come with the reply. */
const linesOf = ({ parts, isCut }: Delta): readonly string[] => [
  ...parts
    .filter(({ kind }) => kind === "text")
    .flatMap(({ text }) => text.split("\n"))
    .filter((line) => line.trim() !== "")
    .map((line) => `  … ${line.trimEnd().replaceAll(/\p{Cc}/gu, "")}`),
  ...(isCut === true ? ["  … (the rest comes with the reply)"] : []),
];
