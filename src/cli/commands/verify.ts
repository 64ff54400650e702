/**
 * `cairn verify RUN|FILE`: checks that every commit of a run is present and follows from the earlier ones. It also
 * checks the seals of a sealed history.
 *
 * A file that `cairn export` wrote is checked without a store. Exits 1 if anything was altered.
 */
import type { Archive } from "../../codec/archive.ts";
import { wrongWithFile } from "../../features/archive/recording.ts";
import { KERNEL } from "../../features/compose.ts";
import { replay } from "../../features/archive/replay.ts";
import type { SealVerdict } from "../../features/seals/verify-seals.ts";
import { OPERATIONS } from "../../operations/table.ts";
import type { SealKeys } from "../../ports/seal-keys.ts";
import { judgeSeal } from "../../history/vouch.ts";
import { EXIT } from "../../compose/user-error.ts";
import { isFile, readExport, recordingFrom } from "../export-file.ts";
import { unlessRunGone } from "../perform.ts";
import type { RunOf } from "./show.ts";
import { renderVerified, sealLine } from "../../render/verified.ts";
import { sealKeysOf } from "../../compose/seal-keys.ts";
import { type Shell, printDocument } from "../shell.ts";
import { tellSteps } from "../progress.ts";
import { transportToReadRun } from "../choose-transport.ts";

export async function verifyTyped(shell: Shell, typed: RunOf): Promise<number> {
  return isFile(typed.run) ? verifyFile(shell, typed.run) : verifyRun(shell, typed);
}

async function verifyRun(shell: Shell, typed: RunOf): Promise<number> {
  const { transport, run } = await transportToReadRun(shell, typed);
  const { terminal } = shell;
  const onStep = tellSteps(shell, { now: transport.now, what: `verifying ${run}` });
  const outcome = await transport.perform("verify", { run }, { onStep });
  terminal.waitFor(null);
  const { kind, verified } = unlessRunGone(transport, { run, outcome });
  if (shell.json) printDocument(shell, verified);
  else terminal.out(renderVerified(verified, { paint: terminal.paintOut }));
  return EXIT[OPERATIONS.verify.outcomes[kind].exit];
}

/** Throws if the lines of the file do not match its digest. */
async function verifyFile(shell: Shell, file: string): Promise<number> {
  const archive = readExport(shell, file);
  const replayed = replay(KERNEL, recordingFrom(shell, { archive, file }));
  const wrong = replayed.differs?.what ?? wrongWithFile(archive, replayed.state);
  const sealKeys = await sealKeysOf(shell);
  const seal = await sealOf(sealKeys, archive);
  const isSure = seal.is !== "forged" && (seal.is !== "unjudged" || sealKeys.mode === "off");
  const { paintOut, out } = shell.terminal;
  const { run } = archive.run;
  if (shell.json) printDocument(shell, { run, file, seal, wrong });
  else {
    const right = "verified: its lines are unchanged, and its states follow from its events";
    out(paintOut("bold", run));
    out(wrong === null ? paintOut("green", right) : `${paintOut("red", "✖")} ${wrong}`);
    out(sealLine(seal, paintOut));
  }
  return wrong === null && isSure ? EXIT.done : EXIT.failed;
}

/** Verifies the seal of an export, which covers the whole file. */
async function sealOf(sealKeys: SealKeys, { sealedBy }: Archive): Promise<SealVerdict> {
  if (sealedBy === undefined) return { is: sealKeys.mode === "required" ? "forged" : "unsealed", from: null, keys: [] };
  const judged = await judgeSeal({ sealKeys }, sealedBy);
  const is = { genuine: "sealed", forged: "forged", "unknown key": "unjudged" } as const;
  return { is: is[judged], from: null, keys: [sealedBy.voucher.key] };
}
