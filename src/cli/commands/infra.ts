/**
 * `cairn infra --dry-run`: lists what a deployment of the project would make, bundles its functions to see their sizes, and
 * says what is missing. It needs no account and leaves nothing behind. Exits 1 if something is missing.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { NO_WARNINGS } from "../../compose/supervise.ts";
import { EXIT, UserError } from "../../compose/user-error.ts";
import type { DeploymentLack, PlannedDeployment } from "../../ports/planned-deployment.ts";
import { renderPlanned } from "../../render/planned-deployment.ts";
import { type Shell, printDocument } from "../shell.ts";

const BYTES_MAX = 64 * 1_024 * 1_024;

export async function infra(shell: Shell, { dryRun }: { readonly dryRun?: true }): Promise<number> {
  const { terminal } = shell;
  if (dryRun !== true) {
    throw new UserError({
      code: "Usage",
      exit: EXIT.usage,
      what: "cairn deploys nothing by itself",
      why: "SST deploys what the sst.config.ts of the project says; --dry-run shows what that is",
      next: "npx cairn infra --dry-run",
    });
  }
  terminal.waitFor("bundling the functions");
  const file = fileURLToPath(import.meta.resolve("#infra/dry-run-process"));
  const { stdout } = await promisify(execFile)(process.execPath, [NO_WARNINGS, file], {
    cwd: shell.cwd,
    env: { ...shell.env },
    encoding: "utf8",
    maxBuffer: BYTES_MAX,
  });
  terminal.waitFor(null);
  const told = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as
    | PlannedDeployment
    | { readonly failed: DeploymentLack };
  if ("failed" in told) {
    const { code, what, next } = told.failed;
    throw new UserError({ code, exit: EXIT.failed, what, why: "without that no deployment can be planned", next });
  }
  if (shell.json) printDocument(shell, told);
  else terminal.out(renderPlanned(told, { paint: terminal.paintOut, width: terminal.width }));
  return told.missing.length === 0 ? EXIT.done : EXIT.failed;
}
