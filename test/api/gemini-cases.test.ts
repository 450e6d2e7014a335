import { testRecordedChatCases } from './recorded-cases.ts'

await testRecordedChatCases({
  protocol: 'gemini-generate',
  adapter: 'gemini',
  framing: 'sse',
  excused: {
    'vertex/chat/fb-streaming-failure-invalid-json': 'the body is no answer at all, so it is an error and never a 200',
    'vertex/chat/multimodal-tool-return-matrix-direct-uploaded-file-video-goo':
      'the model called a tool that nobody declared: an answer that ends in an error is one, and free',
    'vertex/chat/fb-streaming-success-quotes-escaped':
      'an old answer without a finishReason, the only terminal marker there is: it cannot be told from one that was cut',
  },
})
