/** `cairn approve` and `cairn deny` over HTTP. Without a gate, the one that waits is meant. */
import { OPERATIONS } from "../../operations/table.ts";
import { type GrantFlags, grantOf } from "../commands/budget.ts";
import { CliError, EXIT } from "../errors.ts";
import { readJson } from "../input.ts";
import { type Answer, type Remote, textIn } from "./command.ts";

export async function decide(of: Remote, as: "approve" | "deny"): Promise<Answer> {
  const { client, shell, flags, words } = of;
  const [run = "", named] = words;
  const gate = named ?? (await onlyGate(of, run, as));
  const [note, args] = [textIn(flags, "note"), textIn(flags, "args")];
  const more = grantOf(flags as GrantFlags);
  const outcome = await client[as](run, gate, {
    ...(note !== undefined && { note }),
    ...(args !== undefined && { args: await readJson(shell, { option: "--args", text: args }) }),
    ...(Object.keys(more).length > 0 && { more }),
  });
  return { document: outcome, text: OPERATIONS.decide.outcomes[outcome.kind].says };
}

async function onlyGate({ client, command }: Remote, run: string, as: string): Promise<string> {
  const { gates } = await client.get(run);
  const [first, ...others] = gates.filter(({ decided }) => !decided).map(({ gate }) => gate);
  if (first !== undefined && others.length === 0) return first;
  const isNone = first === undefined;
  const what = isNone ? `${run} waits for no approval` : `${run} waits for several approvals`;
  const why = isNone ? "each of its calls is decided, or none needs an approval" : "name the gate that you mean";
  const next = isNone ? command("show", run) : command(as, run, first);
  throw new CliError({ code: isNone ? "Stale" : "Usage", exit: isNone ? EXIT.refused : EXIT.usage, what, why, next });
}
