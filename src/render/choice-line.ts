/** Renders what an agent chose for the next call of its model, and which tools it lacks, as lines of its timeline. */
import type { EventOf } from "../core/event.ts";

export function choiceLine({ choice, stop }: EventOf<"RequestChosen">): { readonly says: string } {
  const { instructions, offered, model, options } = choice;
  const chosen = [
    ...(instructions === undefined ? [] : [`instructions${digestOf(instructions)}`]),
    ...(offered === undefined ? [] : [`tools ${offered.join(", ") || "none"}`]),
    ...(model === undefined ? [] : [`model ${model}`]),
    ...(options === undefined ? [] : [`options ${JSON.stringify(options)}`]),
  ];
  const says = chosen.length === 0 ? "the agent chose nothing of its own" : `the agent chose ${chosen.join(", ")}`;
  return { says: stop === undefined ? says : `the agent stops its model: ${stop}` };
}

/** What a run does not offer of the tools of its servers. */
export function leftOutWords({ tools, count }: EventOf<"ToolsLeftOut">): string {
  if (count === 0) return "all tools of its servers are offered again";
  const rest = count > tools.length ? `; and ${count - tools.length} more` : "";
  return `tools are left out: ${tools.map(({ tool, source, why }) => `${tool} of ${source}: ${why}`).join("; ")}${rest}`;
}

const digestOf = (value: NonNullable<EventOf<"RequestChosen">["choice"]["instructions"]>): string =>
  value.kind === "blob" ? ` ${value.sha256.slice(0, 8)} (${value.bytes} bytes)` : "";
