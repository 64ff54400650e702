/** Events of runs that recall and learn, for tests. */
import type { EventOf } from "../../../src/core/event.ts";

const AT = 1_700_000_000_000;
const SHA = "0".repeat(64);

const recalled: EventOf<"Recalled"> = {
  ...{ kind: "Recalled", at: AT, refs: [{ id: "fact-1", digest: SHA }] },
  section: { kind: "blob", sha256: SHA, bytes: 100, head: "", tail: "" },
};

const learned: EventOf<"Learned"> = { kind: "Learned", at: AT, refs: [{ id: "fact-2", digest: SHA }] };

export const MEMORY_EVENTS = { recalled, learned };
