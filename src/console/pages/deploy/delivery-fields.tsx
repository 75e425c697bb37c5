import { Checkbox, Group, PasswordInput, Stack, TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./deploy.module.css";
import type { DeliveryForm, FormIssue } from "./deploy-form.ts";

interface Props {
  readonly delivery: DeliveryForm;
  readonly onChange: (delivery: DeliveryForm) => void;
  readonly issues: readonly FormIssue[];
  /** Whether something in it matters now, such as waiting for a device that is away. */
  readonly isOpen: boolean;
}

/** How the deployment is carried out. */
export function DeliveryFields({ delivery, onChange, issues, isOpen }: Props): ReactNode {
  const set = (change: Partial<DeliveryForm>): void => onChange({ ...delivery, ...change });
  const issue = (path: string): string | undefined => issues.find((each) => each.path === path)?.reason;
  return (
    <details className={classes.more} open={isOpen}>
      <summary>How it is carried out</summary>
      <Stack gap="md" mt="sm">
        <TextInput
          label="Wait for the device, in hours"
          description="If it is not connected. Otherwise the deployment fails at once."
          inputMode="decimal"
          value={delivery.waitHours}
          error={issue("wait_for_device_s")}
          onChange={({ currentTarget }) => set({ waitHours: currentTarget.value })}
        />
        <TextInput
          label="Download at most, in MB"
          description="A larger one fails before its first byte."
          inputMode="decimal"
          value={delivery.maxDownloadMb}
          error={issue("max_download_bytes")}
          onChange={({ currentTarget }) => set({ maxDownloadMb: currentTarget.value })}
        />
        <Checkbox
          label="Urgent: ignores the device's download hours and data budgets, and used-up allowances"
          checked={delivery.isUrgent}
          onChange={({ currentTarget }) => set({ isUrgent: currentTarget.checked })}
        />
        <Group gap="xs" align="start" grow>
          <TextInput
            label="Registry user"
            autoComplete="off"
            value={delivery.registryUser}
            error={issue("registry_auth.username")}
            onChange={({ currentTarget }) => set({ registryUser: currentTarget.value })}
          />
          <PasswordInput
            label="Registry password or token"
            description="For this deployment only; never stored."
            inputWrapperOrder={["label", "input", "description", "error"]}
            autoComplete="new-password"
            value={delivery.registryPassword}
            error={issue("registry_auth.password")}
            onChange={({ currentTarget }) => set({ registryPassword: currentTarget.value })}
          />
        </Group>
      </Stack>
    </details>
  );
}
