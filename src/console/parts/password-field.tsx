import { PasswordInput, Text } from "@mantine/core";
import { type KeyboardEvent, type ReactNode, useState } from "react";

interface Props {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly autoComplete: "current-password" | "new-password";
  readonly description?: string;
}

/** A password, with a note while Caps Lock is on. */
export function PasswordField({ label, value, onChange, autoComplete, description }: Props): ReactNode {
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
