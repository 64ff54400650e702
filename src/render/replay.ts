/** Renders the result of a replay. */
import type { ReplayShown } from "../operations/replay.ts";
import { type Paint, pairs } from "./paint.ts";
import { inked, spentOf } from "./run.ts";
import { count, grouped, shortJson } from "./words.ts";

export function renderReplay(replay: ReplayShown, { paint }: { readonly paint: Paint }): string {
  const { spent, version, phase, status, replayed } = replay;
  const done = [count(replay.beats, "beat"), count(replay.calls, "call"), count(replay.messages, "message")];
  const at =
    version === replay.of ? `version ${grouped(version)}` : `version ${grouped(version)} of ${grouped(replay.of)}`;
  const counts = [
    count(replayed.commits, "commit"),
    count(replayed.events, "event"),
    `compared with ${count(replayed.snapshots, "snapshot")}`,
  ];
  return [
    `${paint("bold", replay.run)}  ${replay.agent}, version ${replay.agentVersion}`,
    ...pairs(
      [
        ["status", `${inked(status, paint)}${paint("dim", `, ${phase}`)}`],
        ["done", [...done, at, `epoch ${replay.epoch}`].join(", ")],
        ["spent", `${spentOf(replay)}, ${grouped(spent.tokensIn)} tokens in, ${grouped(spent.tokensOut)} out`],
        ["task", shortJson(replay.task, 200)],
      ],
      paint,
    ),
    ...outcome(replay, paint),
    "",
    paint("dim", `folded ${counts.join(", ")}; no model and no tool was called`),
    verdict(replay, paint),
    ...(replay.against === null ? [] : against(replay.against, paint)),
  ].join("\n");
}

function outcome({ failure, result, status }: ReplayShown, paint: Paint): readonly string[] {
  if (failure !== null) return ["", `${paint("red", failure.code)}: ${failure.message}`];
  if (status !== "completed") return [];
  return ["", paint("dim", "result"), typeof result === "string" ? result : JSON.stringify(result, null, 2)];
}

function verdict({ differs }: ReplayShown, paint: Paint): string {
  if (differs === null) return paint("green", "identical: the events give exactly the stored states");
  return `${paint("red", "✖")} version ${differs.version} is the first that differs: ${differs.what}`;
}

function against(comparison: NonNullable<ReplayShown["against"]>, paint: Paint): readonly string[] {
  const { first, compared, unrecorded, differing, listed } = comparison;
  const then = comparison.models.join(", ");
  const model = comparison.models.includes(comparison.model)
    ? []
    : [`recorded with model ${then}, and the agent now uses ${comparison.model}`];
  const unknown =
    unrecorded === 0 ? [] : [`${count(unrecorded, "more reply has", "more replies have")} no recorded request`];
  const heading = `against ${comparison.agent}, version ${comparison.agentVersion}: ${count(compared, "request")} rebuilt`;
  const about = ["", paint("dim", [heading, ...unknown, ...model].join("; ")), ...notCompared(listed, paint)];
  if (first === null) return [...about, paint("green", "every request is the same")];
  return [
    ...about,
    `${paint("red", "✖")} the request for reply ${first.reply} (version ${first.version}) is the first that differs, ` +
      `of ${count(differing, "one", "such")}:`,
    ...first.whys.map((why) => `  ${why}`),
  ];
}

/** The tools of servers, which are never asked for a comparison. */
function notCompared(listed: NonNullable<ReplayShown["against"]>["listed"], paint: Paint): readonly string[] {
  if (listed === null || listed.tools === 0) return [];
  const { servers, tools, called } = listed;
  const names = called.length === 0 ? "" : ` (called: ${called.join(", ")})`;
  return [
    paint("dim", `not compared: up to ${count(tools, "tool")} of ${servers.join(", ")}${names}; no server was asked`),
  ];
}
