/** A modal dialog of the browser: it traps the focus, closes with Escape and gives the focus back. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** `onClose` absent: it stays until the page takes it away. */
export function Dialog({
  onClose,
  label,
  children,
}: {
  readonly label: string;
  readonly onClose?: () => void;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const shown = dialog.current;
    if (shown === null) return undefined;
    const before = document.activeElement;
    shown.showModal();
    // Only a dialog that closes gives the focus back: one that is removed while it is open loses it.
    return () => {
      shown.close();
      // What opened it may be gone, for example an action that the run allows no longer.
      if (before?.isConnected !== true) document.querySelector<HTMLElement>("main")?.focus();
    };
  }, []);
  const closed = (): void => {
    if (dialog.current?.isConnected !== true) return;
    if (onClose === undefined) dialog.current.showModal();
    else onClose();
  };
  return (
    <dialog
      ref={dialog}
      aria-label={label}
      // `close` comes a frame later: a click in that frame may open another dialog, which it would take away.
      onCancel={() => onClose?.()}
      onClose={closed}
      onClick={(event) => {
        // The backdrop belongs to the dialog itself; its content lies in children.
        if (event.target === dialog.current) onClose?.();
      }}
    >
      {children}
    </dialog>
  );
}
