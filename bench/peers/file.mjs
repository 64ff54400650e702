/**
 * A file per run: after each beat the whole state goes into a temporary file, which is synced and renamed over the last
 * one. The folder is synced too, because a rename is durable only then.
 */
import { open as openFile, rename } from "node:fs/promises";
import { join } from "node:path";

async function synced(path, flags, text) {
  const file = await openFile(path, flags);
  try {
    if (text !== undefined) await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function one(dir, steps, run) {
  const messages = [];
  for (let turn = 0; turn < steps.beats; turn += 1) {
    messages.push({ role: "assistant", text: steps.model(turn) }, { role: "tool", text: steps.tool(turn) });
    await synced(join(dir, `${run}.tmp`), "w", JSON.stringify({ version: turn, messages }));
    await rename(join(dir, `${run}.tmp`), join(dir, `${run}.json`));
    await synced(dir, "r");
  }
}

export const open = async (dir, steps) => ({
  run: () => Promise.all(Array.from({ length: steps.runs }, (_, run) => one(dir, steps, run))),
});
