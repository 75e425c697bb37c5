import { ActionIcon, Group, Title } from "@mantine/core";
import { type ReactNode, useLayoutEffect, useRef } from "react";
import { Icon } from "./icon.tsx";
import classes from "./dialog.module.css";

interface Props {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly label: string;
  readonly kind?: "dialog" | "drawer";
  /** Whether Escape and the button close it. A dialog that shows something once is closed by its own button. */
  readonly canDismiss?: boolean;
  readonly children: ReactNode;
}

/** A modal dialog of the browser: it keeps the focus inside, closes with Escape and gives the focus back. */
export function Dialog({ isOpen, onClose, label, kind = "dialog", canDismiss = true, children }: Props): ReactNode {
  const element = useRef<HTMLDialogElement>(null);
  // Before the element is removed: only one that is closed gives the focus back.
  useLayoutEffect(() => {
    const { current } = element;
    if (!isOpen || !current) return undefined;
    current.showModal();
    return () => current.close();
  }, [isOpen]);
  return (
    <dialog
      ref={element}
      className={classes.dialog}
      data-kind={kind}
      aria-label={label}
      // Browsers do not let a page refuse the second Escape in a row.
      closedby={canDismiss ? "closerequest" : "none"}
      onClose={() => {
        if (element.current?.open === false) onClose();
      }}
      onCancel={(event) => {
        // The component that opened it closes it: the browser would close it before the component knows.
        event.preventDefault();
        if (canDismiss) onClose();
      }}
    >
      {isOpen && (
        <>
          <Group justify="space-between" wrap="nowrap" align="start" mb="sm">
            <Title order={2}>{label}</Title>
            {canDismiss && (
              <ActionIcon variant="subtle" color="gray" aria-label="Close" onClick={onClose}>
                <Icon name="cross" />
              </ActionIcon>
            )}
          </Group>
          {children}
        </>
      )}
    </dialog>
  );
}
