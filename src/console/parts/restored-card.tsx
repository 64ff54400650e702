/** A run whose store was restored: an operator checks what it did in the lost time, and says so. */
import { relative, timeOfDay } from "../../render/words.ts";
import type { RestoredRun } from "../../operations/approvals.ts";
import { describe } from "../model/actions.ts";
import { restoredId } from "../model/needs.ts";
import { now } from "../store/clock.ts";
import { sendDecision } from "../store/decided.ts";
import { AsCommand } from "./action-dialog.tsx";
import { CardHead, Deciding } from "./need-parts.tsx";

export function RestoredCard({ mark }: { readonly mark: RestoredRun }) {
  const { run, at, asOf, waits } = mark;
  const action = describe("checked", { run, version: 0 }).request("", false);
  const id = restoredId(mark);
  const since = `Restored ${relative(at, now.value)}, from its state of ${timeOfDay(asOf, now.value)}.`;
  return (
    <>
      <CardHead title="Restored from a backup" about={mark} />
      <p>{since} What it did in between may have happened, and it does not know it.</p>
      <p class="quiet">
        {waits
          ? "A schedule or a keyed request of that time made it. It waits until you have checked the external services."
          : "Until you have checked the external services, it asks before each unsafe call, and probes first where it can."}
      </p>
      <Deciding id={id} needs="checked" title="Outside was checked">
        <div class="line">
          <button type="button" onClick={() => void sendDecision(id, action)}>
            Outside was checked
          </button>
        </div>
        <AsCommand action={action} />
      </Deciding>
    </>
  );
}
