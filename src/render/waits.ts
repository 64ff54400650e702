/** Renders a run that waits for its agent: for other code, or for what an operator has to mend. */
import { MENDS } from "../core/policy/mends.ts";
import type { Shown, WaitsFor } from "../operations/views.ts";
import { type Style, pairs } from "./paint.ts";
import { type CommandBuilder, relative } from "./words.ts";

/** Says what the run waits for, and what lets it go on. */
export function waits(run: Shown, { paint, command, now }: Style & { readonly command: CommandBuilder }): string[] {
  const { waitsFor } = run;
  if (waitsFor === null) return [];
  const means = waitsFor.kind === "operator" ? "go on, once that is mended" : lookMeans(run, now);
  const look = { type: command("resume", run.run), means };
  const upgrade = command("resume", run.run, "--upgrade");
  const title = `${paint("yellow", "?")} ${wantedWords(waitsFor)}`;
  if (waitsFor.kind === "upgrade" && waitsFor.accepted) {
    return ["", title, ...pairs([["accepted", "the next beat applies it"]], paint)];
  }
  const accept = waitsFor.kind === "upgrade" ? [{ type: upgrade, means: `continue with version ${waitsFor.to}` }] : [];
  const ways = [...accept, look];
  const width = Math.max(...ways.map(({ type }) => type.length));
  return [
    "",
    title,
    ...ways.map(({ type, means }) => `  ${paint("bold", type.padEnd(width))}  ${paint("dim", `# ${means}`)}`),
  ];
}

function wantedWords(waitsFor: WaitsFor): string {
  switch (waitsFor.kind) {
    case "upgrade":
      return `it is pinned to agent version ${waitsFor.from}, and version ${waitsFor.to} is deployed`;
    case "operator":
      return `${MENDS[waitsFor.mends].says}: ${waitsFor.code}: ${waitsFor.why}`;
    case "agent":
      return `its agent cannot be loaded: ${waitsFor.why}`;
    case "tools":
      return `its agent no longer has a fitting tool ${waitsFor.tools.join(", ")}; the run continues by itself once it is deployed`;
  }
}

const lookMeans = ({ wakeAt }: Shown, now: number): string =>
  `try again now${wakeAt !== null && wakeAt > now ? `; by itself it tries ${relative(wakeAt, now)}` : ""}`;
