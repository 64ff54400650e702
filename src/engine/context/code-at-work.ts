/**
 * Says which code of an agent is at work in this process, and looks afterwards whether it left the language as it was.
 * What one run's tool breaks would otherwise be found first by another run, and nobody could name the tool.
 */
import type { CodeAtWork } from "../../ports/intrinsics.ts";
import type { RunParts } from "./run-parts.ts";

/**
 * Runs one call of a tool. `ran` is called when the tool's function has returned, before anything else runs: what is
 * changed then, this tool changed.
 *
 * @throws IntrinsicChanged
 */
export async function asCodeOf<T>(
  { world: { intrinsics, announce }, row: { run, epoch } }: Pick<RunParts, "world" | "row">,
  tool: string,
  work: (ran: () => void) => Promise<T>,
): Promise<T> {
  const end = announce?.({ run, what: `tool ${tool}` });
  if (intrinsics === undefined) return work(() => {}).finally(end);
  const code: CodeAtWork = { run, epoch, tool };
  intrinsics.check();
  const leave = intrinsics.enter(code);
  const result = await work(() => intrinsics.check(code));
  // Before it leaves: what it changed after its first pause is found while it still counts as at work.
  intrinsics.check();
  leave();
  end?.();
  return result;
}
