/**
 * `cairn audit AGENT`: prints the recovery audit. It refuses an agent that `start` would refuse. With `--strict`
 * it exits 1 if a declaration is missing.
 */
import { registerResolution } from "../../sdk/resolution.ts";
import { checkHere } from "../../compose/check-here.ts";
import { pricedBy } from "../../sdk/prices.ts";
import { audit } from "../../doctor/audit.ts";
import { changedWhileLoaded } from "../../doctor/audit-missing.ts";
import { withListedTools } from "../../doctor/listed-tools.ts";
import { IntrinsicsNoted } from "../../sdk/watched-intrinsics.ts";
import type { ToolSecrets } from "../../ports/agent.ts";
import { EXIT } from "../../compose/user-error.ts";
import { locateTyped, suggesting } from "../../compose/locate.ts";
import { renderAudit, renderAuditMarkdown } from "../../render/audit.ts";
import { type Settings, settingsOf } from "../../compose/settings.ts";
import type { BeatFlags } from "../../compose/surroundings.ts";
import { type Shell, printLines } from "../shell.ts";

export interface AuditFlags extends BeatFlags {
  readonly strict?: true;
  readonly markdown?: true;
}

export async function auditAgent(
  shell: Shell,
  typed: { readonly agent: string; readonly flags: AuditFlags },
): Promise<number> {
  const { flags } = typed;
  const settings = await settingsOf(shell, flags);
  const { terminal } = shell;
  terminal.waitFor("loading the agent");
  registerResolution();
  const noted = new IntrinsicsNoted();
  const located = await locateTyped(shell, { name: typed.agent, settings: suggesting(settings, "audit") });
  const changed = changedWhileLoaded(noted.changed());
  const agent = pricedBy(located.agent, settings.prices);
  checkHere(agent, settings);
  const listed = await withListedTools(agent, secretsIn(settings));
  const found = audit(listed.agent, settings.limits, [...listed.missing, ...changed]);
  terminal.waitFor(null);
  const { tools, checkpoint, context, cracks, missing } = found;
  if (shell.json)
    printLines(shell, [...tools, checkpoint, ...(context === null ? [] : [context]), ...cracks, ...missing]);
  else if (flags.markdown === true) terminal.out(renderAuditMarkdown(found));
  else terminal.out(renderAudit(found, { agent, paint: terminal.paintOut, width: terminal.width }));
  return flags.strict === true && found.missing.length > 0 ? EXIT.failed : EXIT.done;
}

/** The secrets with which servers are asked for their tools. */
const secretsIn = ({ world }: Settings): ToolSecrets => ({
  get: async (name) => {
    const look = await world.findSecret(name);
    if (look.kind === "found") return look.value;
    throw new Error(`the secret ${name} is not set; it was looked for in ${look.where}; to set it: ${look.mend}`);
  },
});
