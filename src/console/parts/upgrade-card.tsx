/** A pinned run that waits for an operator to accept a newer version of its agent. */
import type { Shown } from "../../operations/views.ts";
import { describe } from "../model/actions.ts";
import { upgradeNeedId } from "../model/needs.ts";
import { sendDecision } from "../store/decided.ts";
import { AsCommand } from "./action-dialog.tsx";
import { CardHead, Deciding } from "./need-parts.tsx";

export function UpgradeCard({ run: shown }: { readonly run: Shown }) {
  const { run, agent, waitsFor } = shown;
  if (waitsFor?.kind !== "upgrade") return null;
  const action = describe("upgrade", shown).request("", false);
  const id = upgradeNeedId(run, waitsFor);
  return (
    <>
      <CardHead title={`Continue with version ${waitsFor.to}?`} about={shown} />
      <p>
        The run began with version {waitsFor.from}. Before you accept, npx cairn replay {run} --against {agent} shows
        what the newer code would do differently.
      </p>
      <Deciding id={id} needs="upgrade" title="Accept the version">
        <div class="line">
          <button type="button" class="primary" data-key="a" onClick={() => void sendDecision(id, action)}>
            Accept version {waitsFor.to}
          </button>
        </div>
        <AsCommand action={action} />
      </Deciding>
    </>
  );
}
