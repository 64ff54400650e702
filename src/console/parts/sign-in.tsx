/** Asks for an access token where the server wants one. The token stays in this tab and goes only into headers. */
import { signInWith } from "../api/http.ts";
import { Command } from "./basics.tsx";
import { Dialog } from "./dialog.tsx";

export function SignIn({ why }: { readonly why: string }) {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement).get("token");
    if (typeof given === "string" && given.trim() !== "") signInWith(given.trim());
  };
  return (
    <Dialog label="Sign in">
      <form onSubmit={submit}>
        <h2>Sign in with an access token</h2>
        <p class="quiet">{why}</p>
        <label class="field">
          <span>Access token</span>
          <input name="token" type="password" autocomplete="off" spellcheck={false} autofocus required />
        </label>
        <p class="quiet small">
          It is kept in this tab until you close it. It may be a signed token (JWT) if the server takes these; an
          administrator makes another one with:
        </p>
        <Command text="npx cairn token create --tenant local --scopes runs:read,runs:write,approve --expires 30d" />
        <div class="foot">
          <button type="submit" class="primary">
            Sign in
          </button>
        </div>
      </form>
    </Dialog>
  );
}
