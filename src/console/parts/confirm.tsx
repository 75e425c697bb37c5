import { Button, Group, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { type Failure, toFailure } from "../api/failure.ts";
import { Dialog } from "./dialog.tsx";
import { FailureNote } from "./failure-note.tsx";
import { PendingButton } from "./pending-button.tsx";

interface Props {
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
export function Confirm(props: Props): ReactNode {
  const { isOpen, title, children, action, isPending, error, onConfirm, onClose } = props;
  const { dismissLabel = "Cancel", isDanger = true } = props;
  const failure: Failure | undefined = error ? toFailure(error) : undefined;
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
