import { ActionIcon, Button, Group, Stack, Title } from "@mantine/core";
import { type ReactNode, useLayoutEffect, useRef } from "react";
import { Icon } from "./icon.tsx";
import classes from "./dialog.module.css";
import { type ApiFailure, toFailure } from "../api/failure.ts";
import { FailureNote } from "./failure-note.tsx";
import { PendingButton } from "./form.tsx";

interface DialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly label: string;
  readonly kind?: "dialog" | "drawer";
  /** Whether Escape and the button close it. A dialog that shows something once is closed by its own button. */
  readonly canDismiss?: boolean;
  readonly children: ReactNode;
}

/** A modal dialog of the browser: it keeps the focus inside, closes with Escape and gives the focus back. */
export function Dialog({
  isOpen,
  onClose,
  label,
  kind = "dialog",
  canDismiss = true,
  children,
}: DialogProps): ReactNode {
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

interface ConfirmProps {
  readonly isOpen: boolean;
  /** The question: what is done to what. */
  readonly title: string;
  /** What it leads to, in numbers. */
  readonly children: ReactNode;
  /** The verb on the button. */
  readonly action: string;
  readonly isPending: boolean;
  readonly error: unknown;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  /** On the button that does nothing; `Cancel` by default. */
  readonly dismissLabel?: string | undefined;
  /** Whether it destroys or takes back something; so by default. */
  readonly isDanger?: boolean;
}

/** Asks before something that cannot be taken back, or that touches many. The failure of the action is shown in it. */
export function Confirm(props: ConfirmProps): ReactNode {
  const { isOpen, title, children, action, isPending, error, onConfirm, onClose } = props;
  const { dismissLabel = "Cancel", isDanger = true } = props;
  const failure: ApiFailure | undefined = error ? toFailure(error) : undefined;
  return (
    <Dialog isOpen={isOpen} onClose={onClose} label={title}>
      <Stack gap="md">
        <div>{children}</div>
        {failure && <FailureNote failure={failure} />}
        <Group justify="end" gap="xs">
          <Button variant="default" onClick={onClose} data-autofocus>
            {dismissLabel}
          </Button>
          <PendingButton {...(isDanger && { color: "red" })} loading={isPending} onClick={onConfirm}>
            {action}
          </PendingButton>
        </Group>
      </Stack>
    </Dialog>
  );
}
