/** A run that waits until an operator has mended what fails. */
import { MENDS } from "../../core/policy/mends.ts";
import type { Shown } from "../../operations/views.ts";
import { describe } from "../model/actions.ts";
import { repairId } from "../model/needs.ts";
import { sendDecision } from "../store/decided.ts";
import { AsCommand } from "./action-dialog.tsx";
import { CardHead, Deciding } from "./need-parts.tsx";

const upper = (words: string): string => `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;

export function RepairCard({ run: shown }: { readonly run: Shown }) {
  const { waitsFor } = shown;
  if (waitsFor?.kind !== "operator") return null;
  const action = describe("resume", shown).request("", false);
  const id = repairId(shown);
  return (
    <>
      <CardHead title={upper(MENDS[waitsFor.mends].says)} about={shown} />
      <p>{waitsFor.why}</p>
      <p class="quiet">Nothing was undone. Mend this, such as a key, a limit or a tool, and let the run go on.</p>
      <Deciding id={id} needs="resume" title="Resume">
        <div class="line">
          <button type="button" class="primary" data-key="a" onClick={() => void sendDecision(id, action)}>
            Resume
          </button>
        </div>
        <AsCommand action={action} />
      </Deciding>
    </>
  );
}
