import { Button, type ButtonProps, type ElementProps, Group, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { toFailure } from "../api/failure.ts";
import { FailureNote } from "./failure-note.tsx";

interface PendingButtonProps extends ButtonProps, ElementProps<"button", keyof ButtonProps> {
  /** Whether what it does is under way. Pressing it again does nothing; it keeps the focus. */
  readonly loading: boolean;
}

/** A button that starts a request. One that is disabled meanwhile would lose the focus of a person who uses the keyboard. */
export function PendingButton({ loading, disabled = false, onClick, ...props }: PendingButtonProps): ReactNode {
  return (
    <Button
      {...props}
      loading={loading}
      disabled={disabled}
      {...(!loading && { onClick })}
      renderRoot={(root) => <button {...root} disabled={disabled} aria-disabled={loading || undefined} />}
    />
  );
}

interface FormProps {
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
export function Form({
  onSubmit,
  action,
  isPending,
  error,
  children,
  actions,
  canSubmit = true,
}: FormProps): ReactNode {
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
