export { Notifications as Said } from '@mantine/notifications'
