/** What the tools of a run get besides their arguments: its files, read from their objects, and its callbacks. */
import type { RunFiles, ToolContext } from "../../ports/agent.ts";
import { fileJson } from "../../codec/file.ts";
import { fileNamed } from "../../core/file.ts";
import { filesOf } from "../../core/files-in.ts";
import { openCallback } from "../waits/callbacks.ts";
import { readFile } from "../../history/files.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";

export function filesFor(run: ActiveRun): RunFiles {
  const { messages } = run.state;
  return {
    list: () => filesOf(messages).map(fileJson),
    read: async (name) => {
      const all = filesOf(messages);
      const found = fileNamed(all, String(name));
      if (found === null) {
        const known = all.map((each) => `${each.name} (${each.file.slice(0, 16)})`).join(", ") || "none";
        throw new Error(`no single file of this run is named ${JSON.stringify(name)}; its files: ${known}`);
      }
      return { ...fileJson(found), content: await readFile(run.world.objects, run.row, found.file) };
    },
  };
}

/** How long a callback lives unless its tool says otherwise: as long as a run may wait. */
const CALLBACK_MS = 30 * 24 * 3_600_000;

export function callbackFor({ world, row: { run, born, tenant } }: ActiveRun): ToolContext<unknown>["callback"] {
  return (event, { lifeMs = CALLBACK_MS } = {}) => openCallback(world, { run, born, tenant, event, lifeMs });
}
