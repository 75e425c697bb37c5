import { PasswordInput, Text } from "@mantine/core";
import { type KeyboardEvent, type ReactNode, useState } from "react";

interface PasswordFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly autoComplete: "current-password" | "new-password";
  readonly description?: string;
}

/** A password, with a note while Caps Lock is on. */
export function PasswordField({ label, value, onChange, autoComplete, description }: PasswordFieldProps): ReactNode {
  const [isCapsLock, setCapsLock] = useState(false);
  const look = (event: KeyboardEvent): void => setCapsLock(event.getModifierState("CapsLock"));
  return (
    <div>
      <PasswordInput
        label={label}
        description={description}
        name={autoComplete}
        autoComplete={autoComplete}
        required
        withAsterisk={false}
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
        onKeyDown={look}
        onKeyUp={look}
        visibilityToggleButtonProps={{ "aria-label": `Show or hide: ${label}`, tabIndex: 0 }}
      />
      <Text size="xs" role="status" mt={isCapsLock ? 4 : 0}>
        {isCapsLock ? "Caps Lock is on." : ""}
      </Text>
    </div>
  );
}

interface NewPasswordFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly label?: string;
}

/** A password that is chosen here. What it must be is checked by the service, which says what is wrong with it. */
export function NewPasswordField({ value, onChange, label = "Password" }: NewPasswordFieldProps): ReactNode {
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
