/**
 * `cairn audit AGENT`: prints the recovery audit (seed 4). It refuses an agent that `start` would refuse. With `--strict`
 * it exits 1 if a declaration is missing.
 */
import { registerResolution } from "../../sdk/resolution.ts";
import { checkAgent } from "../../sdk/check.ts";
import { pricedBy } from "../../sdk/prices.ts";
import { audit } from "../../doctor/audit.ts";
import { EXIT } from "../errors.ts";
import { locateTyped, suggesting } from "../locate.ts";
import { renderAudit, renderAuditMarkdown } from "../render/audit.ts";
import { settingsOf } from "../settings.ts";
import { type BeatFlags, type Shell, printLines } from "../shell.ts";

export interface AuditFlags extends BeatFlags {
  readonly strict?: true;
  readonly markdown?: true;
}

export async function auditAgent(
  shell: Shell,
  of: { readonly agent: string; readonly flags: AuditFlags },
): Promise<number> {
  const { flags } = of;
  const settings = await settingsOf(shell, flags);
  const { terminal } = shell;
  terminal.waitFor("loading the agent");
  registerResolution();
  const located = await locateTyped(shell, { name: of.agent, settings: suggesting(settings, "audit") });
  const agent = pricedBy(located.agent, settings.prices);
  checkAgent(agent, settings.limits);
  const found = audit(agent, settings.limits);
  terminal.waitFor(null);
  const { tools, checkpoint, context, cracks, missing } = found;
  if (shell.json)
    printLines(shell, [...tools, checkpoint, ...(context === null ? [] : [context]), ...cracks, ...missing]);
  else if (flags.markdown === true) terminal.out(renderAuditMarkdown(found));
  else terminal.out(renderAudit(found, { agent, paint: terminal.paintOut, width: terminal.width }));
  return flags.strict === true && found.missing.length > 0 ? EXIT.failed : EXIT.done;
}
