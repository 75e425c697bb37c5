import type { ReactNode } from "react";
import { PasswordField } from "./password-field.tsx";

interface Props {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly label?: string;
}

/** A password that is chosen here. What it must be is checked by the service, which says what is wrong with it. */
export function NewPasswordField({ value, onChange, label = "Password" }: Props): ReactNode {
  return (
    <PasswordField
      label={label}
      description="At least 12 characters; a sentence is good. Your browser or a password manager can store it."
      value={value}
      onChange={onChange}
      autoComplete="new-password"
    />
  );
}
