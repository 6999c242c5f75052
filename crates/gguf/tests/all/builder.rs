//! Writes GGUF headers for tests, right and wrong ones.

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Order {
    Little,
    Big,
}

/// A header in the making: metadata entries and tensors are appended as they come.
pub(crate) struct Builder {
    version: u32,
    order: Order,
    metadata: Vec<u8>,
    metadata_count: u64,
    tensors: Vec<u8>,
    tensor_count: u64,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self::of(3, Order::Little)
    }

    pub(crate) fn of(version: u32, order: Order) -> Self {
        Self {
            version,
            order,
            metadata: Vec::new(),
            metadata_count: 0,
            tensors: Vec::new(),
            tensor_count: 0,
        }
    }

    /// A header with an architecture and so many layers, heads and so on.
    pub(crate) fn model(architecture: &str, numbers: &[(&str, u32)]) -> Self {
        let mut builder = Self::new().text("general.architecture", architecture);
        for (key, value) in numbers {
            builder = builder.u32(&format!("{architecture}.{key}"), *value);
        }
        builder
    }

    fn number<const N: usize>(&self, mut little: [u8; N]) -> Vec<u8> {
        if self.order == Order::Big {
            little.reverse();
        }
        little.to_vec()
    }

    fn length(&self, value: u64) -> Vec<u8> {
        if self.version == 1 {
            self.number(u32::try_from(value).unwrap().to_le_bytes())
        } else {
            self.number(value.to_le_bytes())
        }
    }

    fn string(&self, text: &[u8]) -> Vec<u8> {
        let mut bytes = self.length(text.len() as u64);
        bytes.extend_from_slice(text);
        bytes
    }

    /// An entry of any type, whose value stands as bytes in the file's order.
    pub(crate) fn entry(mut self, key: &[u8], type_id: u32, value: &[u8]) -> Self {
        let mut bytes = self.string(key);
        bytes.extend(self.number(type_id.to_le_bytes()));
        bytes.extend_from_slice(value);
        self.metadata.extend(bytes);
        self.metadata_count += 1;
        self
    }

    pub(crate) fn u32(self, key: &str, value: u32) -> Self {
        let value = self.number(value.to_le_bytes());
        self.entry(key.as_bytes(), 4, &value)
    }

    pub(crate) fn i32(self, key: &str, value: i32) -> Self {
        let value = self.number(value.to_le_bytes());
        self.entry(key.as_bytes(), 5, &value)
    }

    pub(crate) fn u64(self, key: &str, value: u64) -> Self {
        let value = self.number(value.to_le_bytes());
        self.entry(key.as_bytes(), 10, &value)
    }

    pub(crate) fn f32(self, key: &str, value: f32) -> Self {
        let value = self.number(value.to_le_bytes());
        self.entry(key.as_bytes(), 6, &value)
    }

    pub(crate) fn bool(self, key: &str, value: bool) -> Self {
        self.entry(key.as_bytes(), 7, &[u8::from(value)])
    }

    pub(crate) fn text(self, key: &str, value: &str) -> Self {
        let value = self.string(value.as_bytes());
        self.entry(key.as_bytes(), 8, &value)
    }

    /// An array whose elements stand as bytes in the file's order.
    pub(crate) fn array(self, key: &str, element: u32, count: u64, elements: &[u8]) -> Self {
        let mut value = self.number(element.to_le_bytes());
        value.extend(self.length(count));
        value.extend_from_slice(elements);
        self.entry(key.as_bytes(), 9, &value)
    }

    pub(crate) fn u32s(self, key: &str, values: &[u32]) -> Self {
        let elements: Vec<u8> = values
            .iter()
            .flat_map(|value| self.number(value.to_le_bytes()))
            .collect();
        self.array(key, 4, values.len() as u64, &elements)
    }

    pub(crate) fn bools(self, key: &str, values: &[bool]) -> Self {
        let elements: Vec<u8> = values.iter().map(|value| u8::from(*value)).collect();
        self.array(key, 7, values.len() as u64, &elements)
    }

    pub(crate) fn strings<'a>(self, key: &str, values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut count = 0;
        let mut elements = Vec::new();
        for value in values {
            elements.extend(self.string(value.as_bytes()));
            count += 1;
        }
        self.array(key, 8, count, &elements)
    }

    pub(crate) fn tensor(
        mut self,
        name: &str,
        dimensions: &[u64],
        type_id: u32,
        offset: u64,
    ) -> Self {
        let mut bytes = self.string(name.as_bytes());
        let count = u32::try_from(dimensions.len()).unwrap();
        bytes.extend(self.number(count.to_le_bytes()));
        for dimension in dimensions {
            bytes.extend(self.length(*dimension));
        }
        bytes.extend(self.number(type_id.to_le_bytes()));
        bytes.extend(self.number(offset.to_le_bytes()));
        self.tensors.extend(bytes);
        self.tensor_count += 1;
        self
    }

    /// The header with other counts than it has entries.
    pub(crate) fn build_with_counts(&self, tensors: u64, metadata: u64) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(self.number(self.version.to_le_bytes()));
        bytes.extend(self.length(tensors));
        bytes.extend(self.length(metadata));
        bytes.extend_from_slice(&self.metadata);
        bytes.extend_from_slice(&self.tensors);
        bytes
    }

    /// The header, ending with the tensor table.
    pub(crate) fn build(&self) -> Vec<u8> {
        self.build_with_counts(self.tensor_count, self.metadata_count)
    }

    /// The header, read as a file that has nothing but it.
    pub(crate) fn read(&self) -> Result<gguf::Header, gguf::Error> {
        gguf::read_header(&mut &self.build()[..])
    }
}
