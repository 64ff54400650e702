/** A modal dialog of the browser: it traps the focus, closes with Escape and gives the focus back. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export function Dialog(of: {
  readonly label: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-label={of.label}
      onClose={of.onClose}
      onClick={(event) => {
        // The backdrop belongs to the dialog itself; its content lies in children.
        if (event.target === dialog.current) of.onClose();
      }}
    >
      {of.children}
    </dialog>
  );
}
