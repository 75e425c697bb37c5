import { Group, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { toFailure } from "../api/failure.ts";
import { FailureNote } from "./failure-note.tsx";
import { PendingButton } from "./pending-button.tsx";

interface Props {
  readonly onSubmit: () => void;
  /** The verb on the button. */
  readonly action: string;
  readonly isPending: boolean;
  readonly error: unknown;
  readonly children: ReactNode;
  /** Further buttons before the one that submits. */
  readonly actions?: ReactNode;
  readonly canSubmit?: boolean;
}

/** A form with one button that submits it. A failure is shown above the button. */
export function Form({ onSubmit, action, isPending, error, children, actions, canSubmit = true }: Props): ReactNode {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (!isPending && canSubmit) onSubmit();
      }}
    >
      <Stack gap="md">
        {children}
        {error !== null && error !== undefined && <FailureNote failure={toFailure(error)} />}
        <Group justify="end" gap="xs">
          {actions}
          <PendingButton type="submit" loading={isPending} disabled={!canSubmit}>
            {action}
          </PendingButton>
        </Group>
      </Stack>
    </form>
  );
}
