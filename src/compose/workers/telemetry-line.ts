/** What an operator of a machine sees of the telemetry of a process: one line for each record that needs a look. */
import type { Telemetry, TelemetryRecord } from "../../ports/world.ts";

/** Prints these lines to stderr: of a worker, whose supervisor passes them through, of a server and of a command. */
export const PRINTED_TELEMETRY: Telemetry = {
  record: (record) => {
    const line = telemetryLine(record);
    // A spinner may have been drawn on this line, so it is cleared first.
    if (line !== null) process.stderr.write(`${process.stderr.isTTY ? "\r\u001b[2K" : ""}${line}\n`);
  },
};

/** Null: nothing that an operator has to see. */
export function telemetryLine({ run, level, what, detail }: TelemetryRecord): string | null {
  if (level === "alarm") return `alarm ${what}${run === "" ? "" : ` ${run}`}: ${detail["why"] ?? ""}`;
  switch (what) {
    case "PhaseStuck":
      return `${run} is still ${detail["label"]}, for ${detail["seconds"]} s now`;
    case "CrackSeen":
      // The timeline has each signal. The first one of a crack is news.
      return detail["isFirst"] === true
        ? `${run} gave the first signal of ${detail["crack"]}: ${detail["why"]}; npx cairn diagnose ${run} says what to do`
        : null;
    case "log":
      return `${run} ${detail["tool"]}: ${detail["line"]}`;
    default:
      return null;
  }
}
