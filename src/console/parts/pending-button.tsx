import { Button, type ButtonProps, type ElementProps } from "@mantine/core";
import type { ReactNode } from "react";

interface Props extends ButtonProps, ElementProps<"button", keyof ButtonProps> {
  /** Whether what it does is under way. Pressing it again does nothing; it keeps the focus. */
  readonly loading: boolean;
}

/** A button that starts a request. One that is disabled meanwhile would lose the focus of a person who uses the keyboard. */
export function PendingButton({ loading, disabled = false, onClick, ...props }: Props): ReactNode {
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
