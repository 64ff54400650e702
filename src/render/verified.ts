/** Renders the result of `cairn verify`. */
import type { SealVerdict } from "../features/seals/verify-seals.ts";
import type { Verified } from "../features/seals/verify.ts";
import type { Paint } from "./paint.ts";
import { count } from "./words.ts";

export function renderVerified(verified: Verified, { paint }: { readonly paint: Paint }): string {
  const { run, agent, seal, findings, advice, snapshots, commits, sealed, segments, blobs } = verified;
  const counts = [
    count(commits, "commit"),
    count(snapshots, "snapshot"),
    count(sealed, "object of sealed events", "objects of sealed events"),
    count(segments, "segment"),
    count(blobs, "blob"),
  ];
  const right = "verified: nothing is missing, and each version follows from the one before";
  const verdict = findings.length === 0 ? paint("green", right) : paint("red", `${count(findings.length, "finding")}:`);
  return [
    `${paint("bold", run)}${agent === null ? "" : `  ${agent}`}`,
    paint("dim", `checked ${counts.join(", ")}`),
    ...(seal === null ? [] : [sealLine(seal, paint)]),
    verdict,
    ...findings.map(({ where, what }) => `${paint("red", "✖")} ${where}: ${what}`),
    ...(advice === null ? [] : [`${paint("dim", "what to do:")} ${advice}`]),
  ].join("\n");
}

/** Says whether a history is sealed, unsealed or forged, or that this process cannot tell. */
export function sealLine({ is, from, keys }: SealVerdict, paint: Paint): string {
  const by = `key ${keys.join(", ")}`;
  switch (is) {
    case "sealed":
      return `${paint("green", "sealed:")} all of it${from === null || from === 0 ? "" : ` from version ${from} on`} was written with ${by}`;
    case "unsealed":
      return `${paint("yellow", "unsealed:")} digests detect damage, but a process that can write the store can forge data`;
    case "unjudged":
      return `${paint("yellow", "sealed, not judged:")} with ${by}; without that key this process cannot say whether it is forged`;
    case "forged":
      return `${paint("red", "forged:")} a part of it was not written with the key`;
  }
}
